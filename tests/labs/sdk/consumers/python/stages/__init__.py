"""Stages of the journey, one module for each capability: its function `stage` finds Ada signed up."""
