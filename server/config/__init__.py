"""Settings: where they come from, what they may be, and the policies made of them."""
