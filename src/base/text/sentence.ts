/** Operations phrase their errors for the command line, which starts them in lower case. */
export function sentence(message: string): string {
  const startsWithName = /^(slu_|key_)/.test(message);
  const text = startsWithName ? message : message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
