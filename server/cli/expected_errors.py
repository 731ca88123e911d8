"""The errors that an operator can fix: a command reports them in plain lines, without a traceback."""

from domain.errors import Refusal
from server.config.sources import ConfigurationError
from server.database.database import DatabaseAbsent
from server.database.schema import SchemaRefused
from server.importers.source import SourceRefused
from server.mail.message import DeliveryError

EXPECTED = (ConfigurationError, DatabaseAbsent, SchemaRefused, SourceRefused, DeliveryError, Refusal)
