./dev example two_processes redis://localhost jobs # in one terminal
./dev example two_processes redis://localhost jobs "resize 17.png" # in another
