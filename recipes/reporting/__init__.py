"""What a run shows while it trains, and leaves for people to look at."""
