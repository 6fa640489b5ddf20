/** Texts for HTML: what a person or a provider wrote ends no element and no attribute. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
