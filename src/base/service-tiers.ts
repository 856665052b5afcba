/** Names of the tier that the list price is for, or that leave the choice to the provider. */
export const usualTiers: ReadonlySet<string> = new Set(["auto", "default", "standard", "standard_only"]);
