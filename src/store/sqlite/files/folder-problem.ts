import { systemCode } from "../../../base/system/system-code.ts";

/** Why a data folder cannot be used, by the system's or SQLite's error code; null for errors of another kind. */
export function describeFolderProblem(error: unknown): string | null {
  switch (systemCode(error)) {
    case "EEXIST":
    case "ENOTDIR":
    case "ELOOP":
      return "is not a folder;";
    case "EACCES":
    case "EPERM":
      return isFromMaking(error)
        ? "cannot be made by this user;"
        : "is closed to this user; run this as its owner or as root, or";
    case "EROFS":
    case "SQLITE_READONLY":
    case "SQLITE_READONLY_DBMOVED":
    case "SQLITE_READONLY_DIRECTORY":
      return "cannot be written to; give this user the right, or";
    case "ENOENT":
    case "EINVAL":
    case "ENAMETOOLONG":
    case "ENODEV":
    case "SQLITE_CANTOPEN":
      return "cannot be made there;";
    case "EISDIR":
      return "has a folder where its database should be;";
    default:
      return null;
  }
}

function isFromMaking(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "mkdir";
}
