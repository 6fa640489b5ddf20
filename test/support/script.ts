/**
 * Parses the options of scripts that people run by hand. `--help`, and a wrong option, print the comment at the top of
 * the script.
 */
import { readFileSync } from 'node:fs'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

const HELP = ['--help', '-h']
const WRONG_USAGE = 2

/** `file`: the file of the script. Ends the process for `--help` (exit 0) and wrong usage (exit 2). */
export const scriptOptions = <T extends ParseArgsOptionsConfig>(file: string, options: T) =>
  parsed(file, options, false).values

/** The same for a script that also takes words without a dash, which are `positionals`. */
export const scriptArguments = <T extends ParseArgsOptionsConfig>(file: string, options: T) =>
  parsed(file, options, true)

function parsed<T extends ParseArgsOptionsConfig>(file: string, options: T, allowPositionals: boolean) {
  if (process.argv.some(word => HELP.includes(word))) {
    console.log(usageOf(file))
    process.exit(0)
  }
  try {
    return parseArgs({ options, allowPositionals })
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usageOf(file)}`)
    process.exit(WRONG_USAGE)
  }
}

/** The first comment of a script, without the stars. */
function usageOf(file: string): string {
  const [, comment = ''] = /^\/\*\*(.*?)\*\//s.exec(readFileSync(file, 'utf8')) ?? []
  return comment.replace(/^ *\* ?/gm, '').trim()
}
