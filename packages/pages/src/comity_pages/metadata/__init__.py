"""What a page says it is: title, author, dates, and the data in it."""
