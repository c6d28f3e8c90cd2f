"""One file per probed module, named for it: flat tables of dotted name -> the function of the profile that answers."""
