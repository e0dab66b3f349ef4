from flows.packages import check_packages

# Before anything of it is imported, which another package of the name would not have.
check_packages("tasks")
