"""Everything is killed at random while tasks go through; afterwards nothing is lost and nothing was done twice."""
