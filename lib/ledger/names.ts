/**
 * The ids of a process in the store's table `holders`. A process begins with an id `p`, which is also the name of its
 * journal folder. Each time another process has taken it for dead, it registers again under the next id: `p.1`, `p.2`.
 * So whoever finds the journal `p` knows that the leases of all these ids belong to it.
 */
const MARK = '.'

export const firstName = (holder: string): string => holder.split(MARK, 1)[0] as string

export function nextName(holder: string): string {
  const [first, count = '0'] = holder.split(MARK)
  return `${first}${MARK}${Number(count) + 1}`
}
