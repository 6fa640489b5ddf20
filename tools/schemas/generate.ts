/**
 * `npm run schemas`: writes the files that are generated from the schemas of config and catalogue. Run it after
 * changing one.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { generatedFiles } from './schemas.ts'

const root = new URL('../../', import.meta.url)
const files = generatedFiles(readFileSync(new URL('docs/config.md', root), 'utf8'))
for (const [path, text] of Object.entries(files)) writeFileSync(new URL(path, root), text)
