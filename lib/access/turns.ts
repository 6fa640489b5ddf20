/** A semaphore with a bounded queue: at most `atOnce` pieces of work run at a time, and the others wait in line. */
export class Turns {
  readonly #atOnce: number
  readonly #longest: number
  readonly #line: (() => void)[] = []
  #running = 0

  constructor(atOnce: number, longest: number) {
    this.#atOnce = atOnce
    this.#longest = longest
  }

  /** Whether work would wait in line now. */
  get busy(): boolean {
    return this.#running >= this.#atOnce
  }

  /** Whether the queue has its greatest length. Callers must check this first: `take` itself refuses nobody. */
  get full(): boolean {
    return this.#line.length >= this.#longest
  }

  /** Runs `work` when its turn comes. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running++
    else await new Promise<void>(resolve => this.#line.push(resolve)) // work that ends hands its place over
    try {
      return await work()
    } finally {
      const next = this.#line.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
