"""Parts of the journey, one module for each capability.

A module has a function `leg`, which finds Ada signed in. It may have SETTINGS of the service, and SECRETS, those of the
settings that must not be shown anywhere.
"""
