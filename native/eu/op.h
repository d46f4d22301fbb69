/*
 * A decoded instruction: everything that is known before it runs.
 *
 * Operands as the instruction word has them come first, then operands as the fast handlers use them, then the
 * instruction.
 */
#ifndef G4_EU_OP_H
#define G4_EU_OP_H

#include "eu/gang.h"

#include "isa.h"

enum g4_kind {
    G4_KIND_NULL,     /* reads as 0, ignores writes; also an MRF as a source */
    G4_KIND_IMM,      /* eight channels, equal in all threads */
    G4_KIND_GRF,      /* direct */
    G4_KIND_MRF,      /* destination only */
    G4_KIND_INDIRECT, /* one address (1x1) */
    G4_KIND_INDEXED,  /* one address per row (Vx1, VxH) */
    G4_KIND_ARF,      /* any other than null and accumulators */
    G4_KIND_ACC,
};

/* The type of the arithmetic. */
enum g4_exec_type {
    G4_EXEC_W, /* 33 bits, computed in 64 */
    G4_EXEC_D, /* 64 bits */
    G4_EXEC_Q, /* 64 bits, of operands that have as many */
    G4_EXEC_F,
    G4_EXEC_DF,
};

/* The first steps of exact divisions and roots on Gen9. */
enum g4_macro {
    G4_MACRO_NONE,
    G4_MACRO_QUOTIENT,
    G4_MACRO_ROOT
};

enum {
    G4_PASS_CHANNELS = 32, /* maximum of a pass */
};

struct g4_src {
    uint8_t kind, type, size; /* enum g4_kind, enum g4_type, bytes of an element */
    uint8_t reg;              /* ARF number */
    bool abs, negate, align16;
    bool complement;                 /* each bit is inverted */
    uint8_t vstride, width, hstride; /* elements; in Align16 width is 4 */
    uint8_t swizzle[4];
    bool flat;           /* indirect: the second pass continues in the region, else it has an address of its own */
    bool separate_rows;  /* indexed: the rows of the second pass have addresses above those of the first */
    uint16_t pass_bytes; /* distance to the operand of the second pass; of an immediate: elements */
    uint8_t addr_sub;    /* address register: a0.n */
    int16_t addr_imm;
    uint16_t base;   /* byte offset in the register file, or in the architecture register */
    uint32_t imm[8]; /* channel c reads element c % 8, in the type of the operand; a DF takes two, low half first */
};

struct g4_dst {
    uint8_t kind, type, size;
    uint8_t reg;
    uint8_t hstride;
    uint8_t writemask; /* Align16 channel enables; 0xf in Align1 */
    uint8_t addr_sub;
    bool flat; /* as of a source */
    uint16_t pass_bytes;
    int16_t addr_imm;
    uint16_t base;
};

/* A source for the fast handlers (fast/fast.h), filled by g4_fast_select.  A part is eight channels: a pass of a
 * compressed instruction, or half of a pass of sixteen channels. */
struct g4_fast_src {
    uint8_t load;           /* enum g4_fast_load */
    uint8_t reg[2], sub[2]; /* first element of each part: register, byte offset in it */
    uint8_t size;           /* bytes of an element */
    bool is_signed;         /* narrow elements are sign-extended */
    uint8_t convert;        /* enum g4_fast_convert */
    uint32_t keep, flip;    /* modifiers of a float: (bits & keep) ^ flip */
    int32_t invert, minus;  /* modifiers of an integer: (value ^ invert) - minus */
    uint16_t off[16];       /* G4_LOAD_GATHER: byte offset in the gang, of thread 0 */
    int32_t idx[16];        /* G4_LOAD_PERMUTE, G4_LOAD_NARROW: dword of the register, by channel */
    int32_t left[16];       /* G4_LOAD_NARROW: left shift that moves the element to the top of its dword */
    int32_t imm[16];        /* G4_LOAD_IMM: value by channel */
};

/* The destination for the fast handlers. */
struct g4_fast_dst {
    uint8_t store; /* enum g4_fast_store */
    uint8_t reg[2];
    uint8_t convert;  /* enum g4_fast_convert */
    uint16_t off[16]; /* byte offset in the gang, of thread 0, by channel */
};

/* The extent of an indirect operand, for checking its addresses before a fast handler uses them. */
struct g4_fast_address {
    uint16_t used[G4_ADDRESSES]; /* 0xffff if this a0 is one of its addresses, else 0 */
    int16_t imm;                 /* added to each address */
    uint16_t extent;             /* bytes from an address to the end of its last element */
};

struct g4_jit_block;

struct g4_op {
    uint16_t handler; /* enum g4_handler */
    uint8_t opcode;
    uint8_t exec_type;
    uint8_t exec_size;        /* channels of the whole instruction */
    uint8_t passes;           /* 2: compressed, or split by the hardware */
    uint8_t channels;         /* of one pass */
    uint8_t group;            /* Gen7: the first channel, a multiple of 4 */
    uint8_t first_channel[2]; /* by pass: the enable of channel 0; modulo 16 */
    uint8_t first_flag[2];    /* and its flag, from f0.0 on */
    uint8_t flag_mask;        /* the number of flags less 1: flags wrap around */
    uint8_t address_mask;     /* the number of words of a0 less 1, in the same way */
    uint8_t pair_shift;       /* distance of the flags that anyv and allv combine */
    bool upper;               /* uses the masks of channels 16 to 31 if the thread has them */
    bool sechalf, align16, nomask, saturate;
    uint8_t cond, predicate;
    uint8_t flag; /* f0.0, f0.1, f1.0, f1.1 */
    bool predicate_inverse;
    bool acc_write; /* writes the accumulator implicitly, and the value may be read */
    bool breakpoint;
    bool undefined;     /* the device does not have the opcode */
    bool no_lanes;      /* its types do not fit 32-bit lanes; quad.c may have a handler */
    bool whole_product; /* mul: all bits of two dwords are multiplied */
    uint8_t function; /* math: enum gen7_math_function; send: number of the shared function; sel: 1, compare unsigned */
    bool grf_payload; /* send: the payload is in the GRF from `mrf` on; no implied move */
    uint8_t payload_length;                /* its registers, or as many as there can be */
    uint8_t second_payload, second_length; /* split send: where the payload continues, and its registers there */
    bool length_in_register;               /* that number is in a0.`length_address` */
    uint8_t length_address;
    bool eot;              /* send: ends the thread */
    bool writes_target;    /* send: a render target write whose descriptor is an immediate */
    uint8_t target_entry;  /* its binding table entry */
    uint8_t color_pixels;  /* send: pixels of a target write that has only their colors: 8, 16; 0: another message */
    bool color_replicated; /* send: the pixels share one color, in one register */
    bool channel_pointers; /* branches: flow_gen6.c executes them */
    bool branch_control;   /* goto: channels whose predicate is true jump */
    uint8_t macro;         /* math: enum g4_macro */
    uint8_t jump_unit;     /* jmpi: bytes that a count of 1 means */
    bool joins;            /* parked channels may continue here (flow_gen6.c) */
    uint8_t mrf;           /* send: first payload register, destination of the implied move */
    uint8_t pop;           /* branches: pop count */
    uint8_t half;          /* half of the masks that the first pass uses */
    uint8_t parts;         /* fast handlers: number of parts */
    uint8_t count;         /* channels of a part */
    uint8_t acc;           /* implicit accumulator of the first pass */
    bool whole_move;       /* send: the implied move copies whole registers */
    bool dword_move;       /* send: the implied move copies dwords from in[0].off */
    uint8_t move_top;      /* send: one more than the highest register of these dwords */
    uint32_t ip;           /* byte offset from the first instruction of the kernel */
    uint32_t next;         /* ip of the following instruction */
    uint32_t target;       /* branches: ip of the target (JIP), without a count from a register */
    uint32_t uip;          /* branches with two targets: ip of the other one */
    uint32_t descriptor;   /* send: the immediate descriptor */
    uint32_t word0;        /* first dword of the instruction, for reports */
    struct g4_jit_block *block; /* machine code that starts with this op; NULL: none (jit/jit.h) */
    g4_lanes size_lanes;        /* lanes of a half that are below the execution size */
    g4_lanes written;           /* size_lanes that the Align16 channel enables leave */
    struct g4_fast_dst out;
    struct g4_fast_src in[3];
    /* The loop and the fast handlers read the rest only for rare kinds of instructions. */
    uint16_t ordinary; /* G4_HANDLER_INDIRECT: the fast handler for addresses in range */
    uint16_t joined;   /* G4_HANDLER_JOIN: the handler after channels have joined */
    uint16_t in_upper; /* G4_HANDLER_UPPER: the handler, for any 16 channels */
    uint8_t addresses; /* G4_HANDLER_INDIRECT: number of indirect operands */
    struct g4_fast_address address[3];
    struct g4_dst dst;
    struct g4_src src[3];
    const struct g4_op *halves; /* G4_HANDLER_HALVES: the passes, as instructions of one pass */
};

static inline bool g4_op_compares(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_CMP || op->opcode == G4_OPCODE_CMPN;
}

/* The byte offset of the element of channel c from the start of the region. */
static inline unsigned g4_region_offset(const struct g4_src *src, unsigned c) {
    if (src->align16) {
        return (c / 4u * src->vstride + src->swizzle[c & 3u]) * src->size;
    }
    return (c / src->width * src->vstride + c % src->width * src->hstride) * src->size;
}

static inline bool g4_src_scalar(const struct g4_src *src) {
    return !src->align16 && src->vstride == 0 && src->width == 1;
}

/* The float of an element of a VF immediate, its low byte.  s eee ffff: exponent e + 124, and zero is all seven low
 * bits zero (docs/decisions.md 4). */
static inline uint32_t g4_vector_float(uint32_t v) {
    return (v & 0x80) << 24 | ((v & 0x7f) ? ((v >> 4 & 7) + 124) << 23 | (v & 15) << 19 : 0);
}

/* Models point to these (core/model.h). */
g4_expand_instruction_fn g4_expand_gen4, g4_expand_gen7, g4_expand_gen9;
g4_decode_instruction_fn g4_decode_gen4, g4_decode_gen7, g4_decode_gen75, g4_decode_gen9;

/* Whether an instruction may read the accumulator. */
bool g4_op_reads_acc(const struct g4_op *op);

#endif
