/** A model rests for an account after an upstream was too busy, so what provokes that asks a model of its own. */
const BUSY = /error=(429|529)/

/** A model's name, and those by which it is asked for such errors. */
export const withBusy = (name: string): string[] => [name, `${name}-429`, `${name}-529`]

/** The name by which a model is asked for this content. */
export function modelFor(name: string, content: unknown): string {
  const status = typeof content === 'string' ? BUSY.exec(content)?.[1] : undefined
  return status === undefined ? name : `${name}-${status}`
}

/** Not one of the names for such errors. */
export const isUsual = ({ id }: { id: string }): boolean => !/-(429|529)$/.test(id)
