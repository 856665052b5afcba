/** Names and indexes as a readable path, such as `messages[0].role`. */
export function pathOf(steps: readonly (string | number)[]): string {
  let path = "";
  for (const step of steps) {
    if (typeof step === "number") path += `[${step}]`;
    else path += path === "" ? step : `.${step}`;
  }
  return path;
}
