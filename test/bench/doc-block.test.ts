import t from 'tap'
import { blockMarks, replaceBlock } from '../../bench/report/doc-block.ts'

const [begin, end] = blockMarks('figures')
const document = (content: string) => `# Title\n\n${begin}\n\n${content}\n\n${end}\n\nAfter.\n`

t.test('what is between the marks is replaced, nothing else, any number of times', async t => {
  const once = replaceBlock(`# Title\n\n${begin}\nold\n${end}\n\nAfter.\n`, 'figures', '| new |\n')
  t.equal(once, document('| new |'))
  t.equal(replaceBlock(once, 'figures', '| newer $& |'), document('| newer $& |'))
})

t.test('a document without marks, with them twice or the wrong way round is left alone', async t => {
  for (const text of ['# Title', begin, end, `${end}\n${begin}`, document('a') + document('b')])
    t.throws(() => replaceBlock(text, 'figures', 'new'), /the document needs/)
})
