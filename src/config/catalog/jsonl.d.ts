/** Bun imports a file as text with `with { type: "text" }`, from source and inside the executable alike. */
declare module "*.jsonl" {
  const text: string;
  export default text;
}
