/** So many at a time, the others in line. */
export class Turns {
  readonly #atOnce: number
  readonly #longest: number
  readonly #line: (() => void)[] = []
  #running = 0

  constructor(atOnce: number, longest: number) {
    this.#atOnce = atOnce
    this.#longest = longest
  }

  /** The line is as long as it may get: whoever comes now must be sent away. */
  get full(): boolean {
    return this.#line.length >= this.#longest
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running++
    else await new Promise<void>(resolve => this.#line.push(resolve)) // whoever ends hands the place over
    try {
      return await work()
    } finally {
      const next = this.#line.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
