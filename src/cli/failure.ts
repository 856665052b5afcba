/** A command that has told what is wrong itself, and now only has to end with a status that says so. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  readonly exitCode: 1 | 2;

  constructor(exitCode: 1 | 2 = 1) {
    super("the command has failed");
    this.exitCode = exitCode;
  }
}

/** Options that cannot stand together, or an argument that cannot mean anything: status 2. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

/** Asked properly and still not done: status 1. */
export class Refused extends Error {
  override readonly name = "Refused";
}
