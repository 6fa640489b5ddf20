/** What a translated request needs to know of a model at an upstream: the model's row, the channel's, and its kind. */
import type { Channel, Model, ModelEffort, Protocol } from '../terms/records.ts'
import type { KindName } from '../config/upstreams.ts'
import { plainTarget, type Target } from '../translate/protocol.ts'

/** What differs at kinds of provider in chat completions. */
const AT_KIND: Partial<Readonly<Record<KindName, Partial<Target>>>> = {
  openai: { maxOutputMember: 'max_completion_tokens', cacheKeys: true },
  azure: { maxOutputMember: 'max_completion_tokens', cacheKeys: true },
  'azure-deployments': { maxOutputMember: 'max_completion_tokens', cacheKeys: true },
  deepseek: { thoughtMember: 'reasoning_content' },
  mistral: { toolIds: 'alnum9' },
  moonshot: { thoughtMember: 'reasoning_content' },
  openrouter: { thoughtMember: 'reasoning', topK: true },
  zhipu: { thoughtMember: 'reasoning_content' },
}

/** Messages has a member of its own by which thinking is switched off. */
function effortsOf(efforts: readonly ModelEffort[], via: Protocol): Pick<Target, 'efforts' | 'thinkingOff'> {
  const thinkingOff = via === 'messages' || efforts.length === 0 || efforts.includes('none')
  return { efforts: efforts.filter(effort => effort !== 'none'), thinkingOff }
}

export function targetOf(
  { kind, cacheMarks }: Pick<Channel, 'kind' | 'cacheMarks'>,
  row: Model | undefined,
  upstreamModel: string,
  via: Protocol,
): Target {
  return {
    ...plainTarget(upstreamModel),
    ...(kind !== null && via === 'chat' ? AT_KIND[kind] : {}),
    thinking: row?.thinking ?? (via === 'messages' ? 'adaptive' : 'effort'),
    maxOutput: row?.maxOutput ?? null,
    ...effortsOf(row?.efforts ?? [], via),
    sampling: row?.sampling ?? 'all',
    systemTurns: row?.systemTurns ?? false,
    cacheMarks: cacheMarks === 'auto' ? 'auto' : 'asked',
  }
}
