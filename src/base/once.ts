/** Creates a value on the first call and returns it to every later caller. */
export function once<Value extends object>(make: () => Value): () => Value {
  let value: Value | null = null;
  return () => {
    value ??= make();
    return value;
  };
}
