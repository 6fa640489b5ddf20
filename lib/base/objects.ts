/** Copies of plain objects: without what is undefined, or with every value replaced. */

/** An undefined field becomes an absent one: so a row is equal to the same row read back from the store. */
export const withoutUndefined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

export const mapValues = <T, U>(
  map: { readonly [name: string]: T },
  to: (value: T, name: string) => U,
): Record<string, U> => Object.fromEntries(Object.entries(map).map(([name, value]) => [name, to(value, name)]))
