/*
 * Kernels decoded, and nothing else: what handlers rely on without checking it must hold for any bytes.
 *
 * Input: an index into `parts`, then code.
 */
#include "machine.h"

#include "eu/fast/fast.h"
#include "eu/kernel.h"

enum {
    KERNEL_ADDRESS = 0x10000,
    MOST_CODE = 4096,
};

static const uint32_t parts[] = {2 /* CL */, 8 /* EL */, 32 /* IVB */, 128 /* HSW */, 1024 /* KBL */};
enum {
    PARTS = sizeof parts / sizeof parts[0],
};
static struct g4_context contexts[PARTS];

static void require(bool holds, const char *what, const struct g4_op *op) {
    if (!holds) {
        (void)fprintf(stderr, "instruction at 0x%x: %s\n", op->ip, what);
        abort();
    }
}

/* Loads and stores of the fast handlers use registers and offsets as they are. */
static void check_fast_operands(const struct g4_op *op) {
    const unsigned channels = (unsigned)op->parts * op->count;
    const unsigned sources = g4_opcode_info[op->opcode].sources;

    require(op->parts >= 1 && op->parts <= 2 && op->count >= 1 && channels <= 16, "parts", op);
    for (unsigned s = 0; s < sources; s++) {
        const struct g4_fast_src *const in = &op->in[s];
        const bool of_registers = in->load == G4_LOAD_PACKED || in->load == G4_LOAD_SCALAR ||
                                  in->load == G4_LOAD_PERMUTE || in->load == G4_LOAD_NARROW ||
                                  in->load == G4_LOAD_WORDS;
        for (unsigned p = 0; of_registers && p < op->parts; p++) {
            require(in->reg[p] < G4_GRF_COUNT && in->sub[p] < G4_REGISTER_BYTES, "register of a source", op);
        }
        for (unsigned c = 0; in->load == G4_LOAD_GATHER && c < channels; c++) {
            require(in->off[c] + (size_t)in->size <= sizeof(struct g4_gang), "offset of a source", op);
        }
    }
    const unsigned store = op->out.store;
    for (unsigned p = 0; (store == G4_STORE_PACKED || store == G4_STORE_WORDS) && p < op->parts; p++) {
        require(op->out.reg[p] < G4_GRF_COUNT + G4_MRF_COUNT, "register of a destination", op);
    }
    const bool scatters = store == G4_STORE_SCATTER4 || store == G4_STORE_SCATTER2 || store == G4_STORE_SCATTER1;
    for (unsigned c = 0; scatters && c < channels; c++) {
        require(op->out.off[c] < sizeof(struct g4_gang), "offset of a destination", op);
    }
}

static void check_op(const struct g4_kernel *kernel, uint32_t index) {
    const struct g4_op *const op = &kernel->ops[index];
    const uint32_t at = op->ip - kernel->base;

    require(at < kernel->bytes && at % 8 == 0 && kernel->index[at >> 3] == index, "index", op);
    require(op->next - op->ip == 8 || op->next - op->ip == 16, "length", op);
    require(op->exec_size >= 1 && op->exec_size <= G4_PASS_CHANNELS && (op->exec_size & (op->exec_size - 1)) == 0,
            "channels", op);
    require((op->passes == 1 || op->passes == 2) && op->passes * op->channels == op->exec_size, "passes", op);
    require(op->handler >> 8 < G4_TABLES && (op->handler & 0xff) < G4_FAST_ROOM, "handler", op);
    if (op->handler >> 8 != G4_TABLE_COMMON && kernel->grf_top <= G4_GRF_COUNT) {
        check_fast_operands(op);
    }
}

static struct g4_context *context_of(uint32_t part) {
    struct g4_context *const context = &contexts[part];
    if (!context->mem) {
        context->mem = g4_mem_create(GTT_ENTRIES, 32, 64, false);
        context->model = g4_model_of(parts[part]);
        context->gen = context->model->layout_gen;
    }
    if (!context->mem) {
        fail("memory", part);
    }
    return context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static size_t before[PARTS]; /* bytes of code that memory has */
    uint8_t code[MOST_CODE] = {0};
    struct g4_fault fault;

    if (size < 2 || size - 1 > sizeof code) {
        return 0;
    }
    const uint32_t part = data[0] % PARTS;
    struct g4_context *const context = context_of(part);
    memcpy(code, data + 1, size - 1);
    const size_t stored = size - 1 > before[part] ? size - 1 : before[part];
    if (g4_mem_poke(context->mem, KERNEL_ADDRESS, code, stored, &fault) != G4_OK) {
        fail("memory for the kernel", (uint32_t)size);
    }
    before[part] = size - 1;
    struct g4_kernel *const kernel = g4_kernel_decode(context, KERNEL_ADDRESS, 0);
    if (!kernel) {
        fail("memory for the decoded kernel", (uint32_t)size);
    }
    for (uint32_t i = 0; i < kernel->count; i++) {
        check_op(kernel, i);
    }
    g4_kernel_free(kernel);
    return 0;
}
