"""All classes of the library whose objects model files hold."""

from unisvm.model_files import cells, machines, parts, pipelines, registry, searches, selections, tables

FILE_TYPES = (
    *registry.FILE_TYPES,
    *parts.FILE_TYPES,
    *cells.FILE_TYPES,
    *machines.FILE_TYPES,
    *searches.FILE_TYPES,
    *selections.FILE_TYPES,
    *pipelines.FILE_TYPES,
    *tables.FILE_TYPES,
)
