"""What services under test are configured with, one module for each capability.

A module may have SETTINGS for every service, and WITH_MAIL for services that send mail as well.
"""
