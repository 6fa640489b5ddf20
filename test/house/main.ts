/**
 * `npm run house [-- ROOM]` prints the house as figures: lines and files, and of every room its files, doors and longest chain of imports;
 * of one room also what stands against the rules of sizes.
 */
import {
  doorsOf,
  filesOf,
  fragments,
  longestChain,
  longFunctions,
  rooms,
  sharedNames,
  soleInterfaces,
  sources,
  splinters,
} from './house.ts'

const [asked] = process.argv.slice(2)
const say = (line = ''): void => console.info(line)
const below = (file: string): boolean => asked === undefined || file.startsWith(asked)
const lib = sources.filter(({ file }) => file.startsWith('lib/'))

if (asked === undefined) {
  say(`lib: ${lib.reduce((sum, { lines }) => sum + lines, 0)} lines in ${lib.length} files`)
  say()
  say('room                          files   lines  doors  chain')
  for (const { name } of [...rooms].reverse()) {
    const files = filesOf(name)
    const lines = files.reduce((sum, file) => sum + file.lines, 0)
    const figures = [files.length, lines, doorsOf(name).length, longestChain(name).length]
    say(name.padEnd(28) + figures.map(figure => String(figure).padStart(7)).join(''))
  }
} else {
  for (const { name } of rooms.filter(({ name }) => below(name))) {
    say(`${name}: ${filesOf(name).length} files`)
    say(`doors: ${doorsOf(name).join(' ')}`)
    say(`longest chain:\n  ${longestChain(name).join('\n  ')}`)
  }
}
const list = (title: string, rows: string[]): void => {
  say()
  say(`${title}: ${rows.length}`)
  if (asked !== undefined) for (const row of rows) say(`  ${row}`)
}
list('files under 40 lines with one importer', splinters(40).filter(below))
list(
  'files above 600 lines',
  sources.filter(({ file, lines }) => below(file) && lines > 600).map(({ file }) => file),
)
list(
  'functions above 70 lines',
  longFunctions(70)
    .filter(([file]) => below(file))
    .map(([file, line, lines]) => `${file}:${line} ${lines} lines`),
)
list(
  'interfaces that one class implements',
  soleInterfaces()
    .filter(([, file]) => below(file))
    .map(([name, file, other]) => `${name} ${file} ← ${other}`),
)
list(
  'exported names with more than one home',
  sharedNames()
    .filter(([, files]) => files.some(below))
    .map(([name, files]) => `${name}: ${files.join(' ')}`),
)
list(
  'comments that begin like no sentence',
  fragments()
    .filter(([file]) => below(file))
    .map(([file, line, comment]) => `${file}:${line} ${comment}`),
)
