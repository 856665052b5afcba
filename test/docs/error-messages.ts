/** Calls whose arguments are error messages, or what one is put together from. */
const errorCalls =
  /\b(?:new (?:\w*Error|\w*Refusal|Refused|Misuse|Untranslatable|Unreadable\w*|\w*Unavailable|SignInRefused)|reject\w*|refused\w*|invalidInput|notFound|problems\.add|\w*[Ff]ailed\w*|failure\w*)\(/g;

/** A message that has a name of its own. */
const namedMessages = /\b(?:message|why|how|problem|reason|advice)(?::| =)\s+(?=["`])/g;

/** Stands for each value in a message. */
const valueLength = 10;

export interface ErrorMessage {
  readonly line: number;
  /** The text, `…` for each value. */
  readonly text: string;
  readonly length: number;
}

/** The messages in a source file, except those with a list of values, which are as long as the list. */
export function errorMessagesIn(source: string): ErrorMessage[] {
  const calls = [...source.matchAll(errorCalls)].map((match) => [match, false] as const);
  const named = [...source.matchAll(namedMessages)].map((match) => [match, true] as const);
  return [...calls, ...named].flatMap(([match, isNamed]) => {
    const start = match.index + match[0].length;
    const line = source.slice(0, start).split("\n").length;
    const literals = joinedLiterals(source, start);
    return (isNamed ? literals.slice(0, 1) : literals)
      .filter((pieces) => !pieces.includes(".join("))
      .map((pieces) => {
        const text = pieces.replaceAll(value, "…");
        return { line, text, length: text.length + (valueLength - 1) * (text.match(/…/g)?.length ?? 0) };
      });
  });
}

const value = /\$\{[^}]*\}/g;

/** The literals between a call's parentheses; those joined by `+` are one. Only literals of the call itself, not of calls within. */
function joinedLiterals(source: string, start: number): string[] {
  const groups: string[] = [];
  let isJoined = false;
  for (let at = start, depth = 0; at < source.length; at += 1) {
    const character = source[at] ?? "";
    if (character === '"' || character === "`") {
      const end = literalEnd(source, at);
      const text = source.slice(at + 1, end);
      if (isJoined) groups.push((groups.pop() ?? "") + text);
      else groups.push(text);
      at = end;
      isJoined = /^\s*\+\s*["`]/.test(source.slice(end + 1, end + 80));
      if (isJoined) at = source.indexOf("+", end);
    } else if (character === "(") depth += 1;
    else if (character === ")") {
      if (depth === 0) break;
      depth -= 1;
    }
  }
  return groups;
}

/** Where the literal ends that begins here. A template may have literals within its values. */
function literalEnd(source: string, start: number): number {
  const quote = source[start];
  for (let at = start + 1, depth = 0; at < source.length; at += 1) {
    const character = source[at];
    if (character === "\\") at += 1;
    else if (quote === "`" && character === "$" && source[at + 1] === "{") depth += 1;
    else if (depth > 0 && character === "}") depth -= 1;
    else if (depth > 0 && (character === '"' || character === "`")) at = literalEnd(source, at);
    else if (depth === 0 && character === quote) return at;
  }
  return source.length;
}
