/**
 * Gathers what a process of tests writes to its standard output: tap writes each assertion by itself, and each write into a pipe is a call of
 * the system that wakes up the reader. What was gathered is written when it is long enough, four times a second and at the end.
 */
const LONG_ENOUGH = 32_768
const EVERY_MS = 250

export function gatherOutput(stdout: Pick<NodeJS.WriteStream, 'write'> = process.stdout): void {
  const write = stdout.write.bind(stdout) as (text: string | Uint8Array) => boolean
  let gathered = ''
  const handOn = () => {
    const text = gathered
    gathered = ''
    if (text !== '') write(text)
  }
  stdout.write = (data: string | Uint8Array, ...rest: unknown[]) => {
    if (typeof data === 'string') gathered += data
    else {
      handOn()
      write(data)
    }
    if (gathered.length > LONG_ENOUGH) handOn()
    const done = rest.at(-1)
    if (typeof done === 'function') process.nextTick(done)
    return true
  }
  setInterval(handOn, EVERY_MS).unref()
  process.on('exit', handOn)
}
