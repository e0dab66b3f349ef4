"""Every operation of the service, one at a time, from the command line."""
