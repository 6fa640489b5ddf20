/** Waiting for something to become true: no test sleeps for a while and hopes. */
const MOST_MS = 15_000

export const turn = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 1))

export async function until(what: string, holds: () => unknown): Promise<void> {
  for (const end = performance.now() + MOST_MS; !(await holds()); await turn())
    if (performance.now() > end) throw new Error(`waited in vain: ${what}`)
}
