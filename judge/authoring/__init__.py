"""What hidden modules are written with. Trusted side only: a box has none of it."""
