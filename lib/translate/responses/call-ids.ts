/** Ids of the calls of one answer. Clients know calls by them and refuse an answer in which two are the same. */
export class CallIds {
  readonly #times = new Map<string, number>()

  /** The id, or one like it that no other call has. */
  once(id: string): string {
    const times = (this.#times.get(id) ?? 0) + 1
    this.#times.set(id, times)
    if (times === 1) return id
    const next = `${id.slice(0, 50)}_${times}`
    return this.#times.has(next) ? this.once(id) : this.once(next)
  }
}
