// QUEUE COUNT: so many processes that have the file of a queue open at a time. Prints how many they are, and the
// error of the others.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int words, char **word) {
    int answers[2], ends[2], count = words == 3 ? atoi(word[2]) : 0, opened = 0, error = 0;
    if (pipe(answers) != 0 || pipe(ends) != 0) return 2;
    for (int number = 0; number < count; number++) {
        pid_t child = fork();
        if (child < 0) return perror("fork"), 2;
        if (child == 0) {
            close(ends[1]);
            int answer = open(word[1], O_RDWR) < 0 ? errno : 0;
            char byte;
            if (write(answers[1], &answer, sizeof answer) < 0 || read(ends[0], &byte, 1) < 0) _exit(1);
            _exit(0);
        }
    }
    for (int number = 0; number < count; number++) {
        int answer;
        if (read(answers[0], &answer, sizeof answer) != sizeof answer) return 2;
        opened += answer == 0;
        if (answer != 0) error = answer;
    }
    close(ends[1]);
    while (wait(0) > 0) {
    }
    printf("%d open, others: %s\n", opened, error ? strerror(error) : "none");
    return 0;
}
