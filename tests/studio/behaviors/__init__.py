"""Every case of what the subject's own code does, where the shared suite has the ones that matter on each
machine."""
