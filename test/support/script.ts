/** Options of the scripts that are run by hand. `--help`, or a wrong one, shows the comment that the script begins with. */
import { readFileSync } from 'node:fs'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

const HELP = ['--help', '-h']
const WRONG_USAGE = 2

/** `file`: the script's own. Ends the process for `--help` (0) and wrong usage (2). */
export function scriptOptions<T extends ParseArgsOptionsConfig>(file: string, options: T) {
  if (process.argv.some(word => HELP.includes(word))) {
    console.log(usageOf(file))
    process.exit(0)
  }
  try {
    return parseArgs({ options }).values
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usageOf(file)}`)
    process.exit(WRONG_USAGE)
  }
}

/** Of a script's text, its first comment without the stars. */
function usageOf(file: string): string {
  const [, comment = ''] = /^\/\*\*(.*?)\*\//s.exec(readFileSync(file, 'utf8')) ?? []
  return comment.replace(/^ *\* ?/gm, '').trim()
}
