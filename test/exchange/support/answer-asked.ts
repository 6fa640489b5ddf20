/** Random members of bodies that ask for searches, or for what the answer is to consist of, in many spellings. */
import type { Talking } from '../../support/talking.ts'
import type { Writer } from './body-writer.ts'

/** What output may consist of beside text. */
export interface AnswerKinds {
  sound: boolean
  pictures: boolean
}

/** Adds tools that search, one or several, and returns how often they may be used. Numbers that say no limit are the most. */
export function searchesOf(w: Writer, protocol: Talking, unlimited: number): number {
  const { random } = w
  const times = random.pick([1, 1, 2])
  const list = (each: () => string) => `[${Array.from({ length: times }, each).join(',')}]`
  if (protocol === 'messages') {
    let most = 0
    const tool = () => {
      const uses = random.pick([null, 0, 1, 2])
      most += uses || unlimited
      const said = random.pick([`${uses}`, `"${uses}"`, `${uses}.0`])
      const limit = uses === null ? '' : `,${random.pick(['"max_uses"', '"max\\u005fuses"'])}:${said}`
      return `{"name":"web_search","type":${random.pick(['"web_search_20250305"', '"web\\u005fsearch_20260209"'])}${limit}}`
    }
    w.add('tools', list(tool))
    return most
  }
  if (protocol === 'responses') {
    const calls = random.pick([null, null, 0, 1, 5])
    if (calls !== null) w.add('max_tool_calls', random.pick([`${calls}`, `"${calls}"`]))
    w.add(
      'tools',
      list(() => `{"type":"${random.pick(['web_search', 'web_search_preview', 'web_s\\u0065arch'])}"}`),
    )
    return calls || times * unlimited
  }
  if (protocol === 'chat') {
    const [name, value] = random.pick([
      ['web_search_options', '{}'],
      ['enable_search', 'true'],
      ['search_parameters', '{"mode":"auto"}'],
    ] as const)
    if (w.chance(0.5)) {
      w.add(name, value)
      return unlimited
    }
    w.add(
      'tools',
      list(() => '{"type":"web_search"}'),
    )
    return times * unlimited
  }
  if (protocol !== 'generate') return 0
  w.add(
    'tools',
    list(() => `{"${random.pick(['googleSearch', 'google_search', 'googleSearchRetrieval'])}":{}}`),
  )
  return times * unlimited
}

/** Asks for what the answer is to consist of, or does not, and returns what an upstream may make of that. */
export function kindsOf(w: Writer, protocol: Talking): AnswerKinds {
  const { random } = w
  if (protocol === 'messages' || protocol === 'images') return { sound: false, pictures: false }
  const mayDraw = protocol !== 'responses'
  if (w.chance(0.3)) return { sound: true, pictures: mayDraw }
  const [names, sound, pictures] = random.pick<[string, boolean, boolean]>([
    ['["text"]', false, false],
    ['["text","text"]', false, false],
    ['["text","audio"]', true, false],
    ['["audio","text"]', true, false],
    ['["\\u0061udio"]', true, false],
    ['["text","image"]', false, true],
    ['["image","text"]', false, true],
    ['["image","audio"]', true, true],
    ['["text",3]', true, true],
    ['"audio"', true, true],
    ['[]', true, mayDraw],
    ['null', true, mayDraw],
  ])
  const name = protocol === 'generate' ? random.pick(['responseModalities', 'response_modalities']) : 'modalities'
  w.add(name, protocol === 'generate' && w.chance(0.5) ? names.toUpperCase().replace('\\U0061', '\\u0061') : names)
  const speaks = w.chance(0.1)
  if (speaks) w.add(protocol === 'generate' ? 'speechConfig' : 'audio', '{"voice":"alloy"}')
  return { sound: sound || speaks, pictures }
}
