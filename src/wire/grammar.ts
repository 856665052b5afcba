/** Parts of HTTP's grammar (RFC 9110, 5.1 to 5.6.4), as sources for regular expressions over Latin-1 text. */

export const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const text = "\\t\\x20-\\x7e\\x80-\\xff";
export const fieldValue = `[${text}]*`;
/** Without its line end. A value that is continued on the next line (obs-fold) does not match. */
export const fieldLine = `${token}:${fieldValue}`;
export const quotedString = `"(?:[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[${text}])*"`;
