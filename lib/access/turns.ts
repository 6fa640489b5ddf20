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

  /** Whether the queue has its greatest length. Callers must check this first: `take` and `come` refuse nobody. */
  get full(): boolean {
    return this.#line.length >= this.#longest
  }

  /** Runs `work` when its turn comes. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (!this.begin()) await this.come()
    try {
      return await work()
    } finally {
      this.end()
    }
  }

  /** Takes a place for work that `end` follows, unless all are taken. */
  begin(): boolean {
    if (this.busy) return false
    this.#running++
    return true
  }

  /** Resolves when work that ends hands its place over. */
  come(): Promise<void> {
    return new Promise(resolve => this.#line.push(resolve))
  }

  end(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#running--
    else next()
  }
}
