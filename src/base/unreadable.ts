/** Why a file cannot be read, to be put after a colon. */
export function whyUnreadable(error: unknown): string {
  // Errors of the system carry their code in `code`.
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  switch (code) {
    case "ENOENT":
      return "it does not exist";
    case "EISDIR":
      return "it is a folder";
    case "EACCES":
    case "EPERM":
      return "it is closed to this user";
    default:
      return code ?? "unknown error";
  }
}
