/** No limits by value. */
export const noValueCaps = { caps: [], raises: [] } as const;
