/** The command has already reported the error; only the exit status is left to set. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  readonly exitCode: 1 | 2;

  constructor(exitCode: 1 | 2 = 1) {
    super("the command has failed");
    this.exitCode = exitCode;
  }
}

/** Conflicting options or an invalid argument: status 2. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

/** A valid command that was rejected: status 1. */
export class Refused extends Error {
  override readonly name = "Refused";
}
