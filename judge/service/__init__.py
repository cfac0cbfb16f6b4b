"""The judge as a service: API, queue, worker and exercise pages, for one learner on this machine."""
