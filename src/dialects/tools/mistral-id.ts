const legal = /^[a-zA-Z0-9]{9}$/;

/** The id of a call as Mistral's models take it: nine letters and digits and nothing else. The same for the same id. */
export function mistralId(id: string): string {
  return legal.test(id) ? id : Bun.hash.xxHash64(id).toString(36).padStart(9, "0").slice(-9);
}
