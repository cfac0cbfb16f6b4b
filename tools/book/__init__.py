"""From chapter sources (MyST Markdown) to the book: a preprocessor for mdBook and the builder around it."""
