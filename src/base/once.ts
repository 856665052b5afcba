/** The same value for every caller, made when it is first asked for. */
export function once<Value extends object>(make: () => Value): () => Value {
  let made: Value | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
