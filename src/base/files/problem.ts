import { systemCode } from "../system/system-code.ts";

/** Why a file cannot be read, to be put after a colon. */
export function whyUnreadable(error: unknown): string {
  const code = systemCode(error);
  switch (code) {
    case "ENOENT":
      return "it does not exist";
    case "EISDIR":
      return "it is a folder";
    case "EACCES":
    case "EPERM":
      return "permission denied";
    default:
      return code ?? "unknown error";
  }
}

/** Why a new file cannot be written, to be put after a colon. */
export function whyUnwritable(error: unknown): string {
  const code = systemCode(error);
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return "the folder does not exist";
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return "its folder is not writable by this user";
    case "ENOSPC":
    case "EDQUOT":
      return "the disk is full";
    default:
      return code ?? "unknown error";
  }
}
