/**
 * Under which names a process stands in the store. Its first name is also its journal's; each time it was taken for dead
 * it goes on under the next: `p`, `p.1`, `p.2`, so that whoever finds the journal knows whose leases end with it.
 */
const MARK = '.'

export const firstName = (holder: string): string => holder.split(MARK, 1)[0] as string

export function nextName(holder: string): string {
  const [first, count = '0'] = holder.split(MARK)
  return `${first}${MARK}${Number(count) + 1}`
}
