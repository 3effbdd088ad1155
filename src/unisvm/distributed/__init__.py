"""Everything that knows of Dask: collections, the row store on a cluster, its tasks, and lazy predictions."""
